export { hashBundle } from './bundle.ts'
export type {
  ActionDocument,
  ConditionDocument,
  DefinitionDocument,
  EmitActionDocument,
  FunctionActionDocument,
  HttpActionDocument,
  ProfileDocument,
  RetryPolicy,
  RouteDocument,
  SecretRef,
  SourceDocument,
  VerifyDocument,
} from './documents.ts'
export { hashDocument, hashText } from './hash.ts'
