export { type AccountKeys, followAccountKeys } from "./account-keys.ts";
export { followAccountRotation } from "./account-rotation.ts";
export { followOperatorFiles, readOperatorFiles } from "./administrators.ts";
export { startDocument } from "./document.ts";
export { followCommandKeys, type Keyring } from "./keyring.ts";
export { loadMasterKeys, type MasterKeys } from "./keys.ts";
export { followOtherMasters } from "./other-masters.ts";
export { followRotation, reportKeys } from "./rotation.ts";
export { viewRotations } from "./rotation-view.ts";
