export { decodeHeld } from "./held.ts";
export { contend, type Lease, type LeaseHolder, type Tenure } from "./lease.ts";
