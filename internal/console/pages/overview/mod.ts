export { overviewPage } from "./overview.tsx";
