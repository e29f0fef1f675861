export { type Config, type ConfigFinding, type ResolvedConfig, resolveConfig } from './config.ts'
export { renderSettings } from './documentation.ts'
export { CLIENT_SETTINGS, type Environment, SETTINGS, type StoreConfig } from './schema.ts'
export { ownFilesOf, readSecretFiles, SECRET_NAMES } from './secret-files.ts'
