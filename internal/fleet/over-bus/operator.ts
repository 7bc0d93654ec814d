import { adminQueue, type OperatorAction, operatorSubject } from "../../bus/mod.ts";
import {
  type AdministratorsDeps,
  addOperator,
  adoptionStatus,
  disableOperator,
  enableOperator,
  listOperators,
  type OperatorDeps,
  removeOperator,
  renewOperator,
  replaceAdministrators,
  setRoles,
  showAdministrators,
  showOperator,
  whoAmI,
} from "../operators/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: OperatorAction) => ({ subject: operatorSubject(action), queue: adminQueue });

export const operatorsOverBus = {
  list: overBus({ operation: listOperators, ...at("list") }),
  show: overBus({ operation: showOperator, ...at("show") }),
  add: overBus({ operation: addOperator, ...at("add") }),
  disable: overBus({ operation: disableOperator, ...at("disable") }),
  enable: overBus({ operation: enableOperator, ...at("enable") }),
  roles: overBus({ operation: setRoles, ...at("roles") }),
  remove: overBus({ operation: removeOperator, ...at("remove") }),
  adoption: overBus({ operation: adoptionStatus, ...at("adoption") }),
  whoami: overBus({ operation: whoAmI, ...at("whoami") }),
  renew: overBus({ operation: renewOperator, ...at("renew") }),
  administrators: overBus({ operation: showAdministrators, ...at("administrators") }),
  replaceAdministrators: overBus({ operation: replaceAdministrators, ...at("replace-administrators") }),
};

export function serveOperators(door: BusDoor, deps: OperatorDeps & AdministratorsDeps): void {
  serve(door, operatorsOverBus.list, deps);
  serve(door, operatorsOverBus.show, deps);
  serve(door, operatorsOverBus.add, deps);
  serve(door, operatorsOverBus.disable, deps);
  serve(door, operatorsOverBus.enable, deps);
  serve(door, operatorsOverBus.roles, deps);
  serve(door, operatorsOverBus.remove, deps);
  serve(door, operatorsOverBus.adoption, deps);
  serve(door, operatorsOverBus.whoami, deps);
  serve(door, operatorsOverBus.renew, deps);
  serve(door, operatorsOverBus.administrators, deps);
  serve(door, operatorsOverBus.replaceAdministrators, deps);
}
