import { createHash, createHmac, pbkdf2Sync, timingSafeEqual } from "node:crypto";

const iterations = 4096;
const scram = /^SCRAM-SHA-256\$(\d{1,7}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)$/;
const md5 = /^md5[0-9a-f]{32}$/;

/** Whether a password is given as the server stores it. */
function isStoredForm(password: string): boolean {
  return scram.test(password) || md5.test(password);
}

/** Whether a stored password is this one. */
export function isPassword(stored: string, role: string, password: string): boolean {
  if (isStoredForm(password)) return same(stored, password);
  const [, count = "", salt = ""] = scram.exec(stored) ?? [];
  if (count !== "") return same(stored, scramForm(password, Buffer.from(salt, "base64"), Number(count)));
  return same(stored, md5.test(stored) ? md5Form(password, role) : password);
}

/**
 * The form in which a server stores a password, so that the password itself is in no statement and no log.
 *
 * @param method `password_encryption` of the server
 * @param salt 16 random bytes
 */
export function storedForm(password: string, role: string, method: string, salt: Uint8Array): string {
  if (isStoredForm(password)) return password;
  return method === "scram-sha-256"
    ? scramForm(password, Buffer.from(salt), iterations)
    : md5Form(password, role);
}

/** RFC 5803, as PostgreSQL writes it. */
function scramForm(password: string, salt: Buffer, count: number): string {
  const salted = pbkdf2Sync(password.normalize("NFKC"), salt, Math.min(count, 1_000_000), 32, "sha256");
  const keyOf = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${count}:${salt.toString("base64")}$${stored}:${keyOf("Server Key").toString("base64")}`;
}

function md5Form(password: string, role: string): string {
  return `md5${createHash("md5").update(`${password}${role}`).digest("hex")}`;
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
