/** Reads the JSON records of a log; other lines are left out. */
export function readRecords(text: string): Record<string, unknown>[] {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

/** The ports that a master listens on, once its log, in either format, says that it is ready. */
export function portsOfMaster(text: string): { enroll: number; health: number } | undefined {
  const record = readRecords(text).find(({ msg }) => msg === "master ready") ?? textFields(text);
  const ports = { enroll: Number(record?.enroll_port), health: Number(record?.health_port) };
  return record === undefined ? undefined : ports;
}

/** The fields of the record in the text format. */
function textFields(text: string): Record<string, string> | undefined {
  const line = /^\S+ INFO +master ready (.*)$/m.exec(text)?.[1];
  return line === undefined
    ? undefined
    : Object.fromEntries([...line.matchAll(/(\w+)=(\S+)/g)].map(([, key, value]) => [key, value]));
}
