export { keyOperations } from "./joined.ts";
