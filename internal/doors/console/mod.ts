export { type ConsoleAsset, type ConsoleBundle, packBundle } from "./bundle.ts";
export { carriedBundle } from "./carried.ts";
export { consoleRoutes } from "./routes.ts";
