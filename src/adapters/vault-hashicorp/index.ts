export { type HashicorpVaultOptions, makeHashicorpVault } from './vault-hashicorp.ts'
