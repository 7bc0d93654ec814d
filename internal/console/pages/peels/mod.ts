export { peelsPage } from "./page.ts";
