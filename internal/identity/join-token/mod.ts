export { isJoinProof, joinProof } from "./proof.ts";
export { formatJoinToken, type JoinToken, parseJoinToken, secretBytes } from "./token.ts";
