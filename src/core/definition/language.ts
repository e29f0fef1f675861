// The number of the language that definitions are written in.
//
// It is raised with each change of what a document may say, and is stored with each document as the version of its record: a node
// that reads a higher one than its own does not know all of what the document says, and leaves it to those that do.

export const LANGUAGE = 1
