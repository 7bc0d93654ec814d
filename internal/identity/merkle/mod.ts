export {
  isProven,
  type MerkleTree,
  merkleTree,
  type ProofStep,
  type ProvingTree,
  packProof,
  partialTree,
  rootOf,
  type TreePart,
  unpackProof,
} from "./merkle.ts";
