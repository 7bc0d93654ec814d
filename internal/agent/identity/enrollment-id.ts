import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { isId } from "../../base/id.ts";

/** The id of this peel's enrollment; `undefined` when there is no file, or no whole id in it. */
export function readEnrollmentId(file: string): string | undefined {
  const id = readTextIfPresent(file)?.trim();
  return id !== undefined && isId("enr", id) ? id : undefined;
}

/** Keeps the id of this peel's enrollment. @throws SvcError `storage` */
export function storeEnrollmentId(file: string, id: string): void {
  if (readEnrollmentId(file) === id) return;
  writing(file, () => writeFileAtomic(file, `${id}\n`, secretMode));
}
