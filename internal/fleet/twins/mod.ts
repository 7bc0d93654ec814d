export { followTwins, type Twins } from "./follow-twins.ts";
