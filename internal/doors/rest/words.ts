/** The answer to a list or a target while this master has not read everything that is stored: never a part of it. */
export const notRead = "The master has not read everything that is stored yet; ask again";
