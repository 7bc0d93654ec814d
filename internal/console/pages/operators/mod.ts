export { operatorsPage } from "./page.ts";
