const operatorPrefix = "svc.op.";
/**
 * Where the bus user of an operator publishes a request: the server lets no other user publish there, so it says who
 * sent it. What is signed is the subject without this prefix.
 *
 * @param key public key of the bus user; `*` is every one
 */
export const fromOperatorSubject = (key: string, subject: string): string =>
  `${operatorPrefix}${key}.${subject}`;
/** The bus user that published a request, where the subject has it, and the subject that is signed. */
export function parseFromOperator(published: string): { user?: string; subject: string } {
  if (!published.startsWith(operatorPrefix)) return { subject: published };
  const end = published.indexOf(".", operatorPrefix.length);
  return { user: published.slice(operatorPrefix.length, end), subject: published.slice(end + 1) };
}
