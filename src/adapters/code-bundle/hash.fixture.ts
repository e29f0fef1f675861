// Prints the hashes of the functions of a folder, to compare the results of several versions of Node.

import { makeBundleCode } from './index.ts'

const folder = process.argv[2] ?? ''
const paths = process.argv.slice(3)
const sdk = await import('../../sdk/index.ts')
const code = makeBundleCode({ sdk, copies: null })
const { exports, problems } = await code.read(
  folder,
  paths.map((path) => ({ path, text: '' })),
)
console.log(JSON.stringify({ hashes: exports.map(({ codeHash }) => codeHash), problems }))
