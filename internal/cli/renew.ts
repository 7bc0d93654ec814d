import { defined } from "../base/defined.ts";
import { secretMode, writeFileAtomic } from "../base/files/file.ts";
import { encode } from "../base/msgpack.ts";
import { type Bus, requestAsOperator } from "../bus/connection/mod.ts";
import { readReply } from "../doors/bus/mod.ts";
import { operatorOperations } from "../fleet/operators/mod.ts";
import { formatOperatorFile, type OperatorFile, readClaims, readOperatorFile } from "../identity/mod.ts";

/** Nobody waits long for what can be done with the next command. */
const patienceMs = 1_000;

/**
 * Renews the JWT of an operator file, and the way to the bus with it. The next command tries again what fails.
 *
 * @param now milliseconds since the Unix epoch
 * @param open connects once as this operator file says. @throws where that does not work
 */
export async function renewOperatorFile(
  bus: Bus,
  path: string,
  now: number,
  open: (file: OperatorFile) => Promise<void>,
): Promise<void> {
  try {
    // Read again: another command may have renewed it meanwhile.
    await renewNow(bus, path, readOperatorFile(path), { now, open });
  } catch {
    // It is not what the person asked for, and the JWT is good for weeks.
  }
}

/** Asks for a new JWT, and stores it in the operator file. @throws SvcError what the masters answer, `storage` */
async function renewNow(
  bus: Bus,
  path: string,
  { key, ...file }: OperatorFile,
  { now, open }: { now: number; open: (file: OperatorFile) => Promise<void> },
): Promise<void> {
  const input = { name: file.name, public_key: file.publicKey };
  const { renewOperator: renew } = operatorOperations;
  const reply = await requestAsOperator(
    bus,
    renew.bus.subject,
    encode({ ...input, operator: file.name }),
    patienceMs,
    undefined,
    renew.operation.name,
  );
  if (reply === undefined) return;
  const { fleet, jwt, ...reported } = readReply(renew, reply);
  if (fleet !== file.fleet || readClaims(jwt).sub !== file.publicKey) return;
  const store = (one: OperatorFile) => writeFileAtomic(path, formatOperatorFile(one), secretMode);
  const renewed = { ...file, jwt, ...defined({ key }) };
  store(renewed);
  const { followAddress } = await import("./follow-address.ts");
  const address = followAddress(file, reported, now);
  if (address === undefined) return;
  // What does not lead to the fleet from here is not stored.
  await open({ ...renewed, ...address });
  store({ ...renewed, ...address });
}
