// The parts that serve the fleet, in the order of their start.

export { audit } from "./audit.ts";
export { automation } from "./automation.ts";
export { claims } from "./claims.ts";
export { comparedFiles } from "./compared-files.ts";
export { decisions } from "./decisions.ts";
export { doors } from "./doors.ts";
export { gate } from "./gate.ts";
export { jobs } from "./jobs.ts";
export { joining } from "./joining.ts";
export { knowledge } from "./knowledge.ts";
export { members } from "./members.ts";
export { operations } from "./operations.ts";
export { operators } from "./operators.ts";
export { peelDoor } from "./peel-door.ts";
export { peelRequests } from "./peel-requests.ts";
export { presence } from "./presence.ts";
export { requests } from "./requests.ts";
export { roles } from "./roles.ts";
export { samples } from "./samples.ts";
export { signIn } from "./sign-in.ts";
export { sites } from "./sites.ts";
