/** The purpose of the sealed box that a token crosses the bus in. @param id of the token */
export const sealContext = (id: string): Uint8Array => Buffer.from(`svc/join-token/v1\0${id}`, "latin1");
