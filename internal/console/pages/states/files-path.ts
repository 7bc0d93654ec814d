/** The page of the state files, below the one of compliance. */
export const filesPath = "/states/files";

/** After these events the files are read again. */
export const fileChanges = ["svc/states/", "svc/master/"];
