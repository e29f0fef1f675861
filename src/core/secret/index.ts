export { parseMasterKey } from './master-key.ts'
export { type MasterKey, type MasterKeys, makeMasterKeys } from './master-keys.ts'
export { isSecretName, SECRET_NAME } from './name.ts'
