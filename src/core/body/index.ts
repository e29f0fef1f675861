export { FIELDS_MAX, type FormFields, parseForm } from './form.ts'
export { type Encoding, type MediaVerdict, readEncoding, readMediaType } from './media.ts'
export { type Body, type BodyFault, type BodyResult, readBody } from './read.ts'
