export { makeEnvVault } from './vault-env.ts'
