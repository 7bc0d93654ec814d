export { refuseAccountName, refuseField, type UserChange } from "./manager.ts";
export { accountsOf } from "./open.ts";
export { type Group, groupsOfUser, localGroups, localUsers, passwordHash, type User } from "./users.ts";
