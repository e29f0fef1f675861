export { parseMasterKey } from './master-key.ts'
export { isSecretName, SECRET_NAME } from './name.ts'
