export { refuseAccountName, refuseField, refuseGecos, type UserChange } from "./manager.ts";
export { accountsOf } from "./open.ts";
export {
  formatGecos,
  type Gecos,
  type Group,
  gecosParts,
  groupsOfUser,
  localGroups,
  localUsers,
  passwordHash,
  type User,
} from "./users.ts";
