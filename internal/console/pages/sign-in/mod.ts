export { comeIn } from "./come-in.ts";
export { SignIn, SignInAgain, SignInInstead } from "./sign-in.tsx";
export { Waiting } from "./waiting.tsx";
