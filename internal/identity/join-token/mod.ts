export { isJoinProof, joinProof } from "./proof.ts";
export { formatJoinToken, type JoinToken, parseJoinToken } from "./token.ts";
