// Starts the simulator's command (sim/command.ts) from one file of plain JavaScript.

import { pathToFileURL } from 'node:url'
import { bundleSimulator } from './bundle.ts'

const bundle = await bundleSimulator()
try {
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(bundle.path).href)
} finally {
  bundle.remove()
}
