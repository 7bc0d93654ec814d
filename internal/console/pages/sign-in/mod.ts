export { comeIn } from "./come-in.ts";
export { SignIn, SignInAgain } from "./sign-in.tsx";
