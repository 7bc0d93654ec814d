export { type MasterSignIn, startSignIn } from "./sign-in.ts";
