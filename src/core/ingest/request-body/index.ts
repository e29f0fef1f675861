// Reads a request body by its media type.

export { FIELDS_MAX, type FormFields, parseForm } from './form-body.ts'
export { type Encoding, type MediaVerdict, readEncoding, readMediaType } from './media-type.ts'
export { type Body, type BodyFault, type BodyResult, readBody } from './read-body.ts'
