// millrace init: a folder of definitions to start with. It overwrites nothing.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type Cli, handle, type Session } from '../command.ts'
import { CliError } from '../failure.ts'

const FILE = 'orders.yaml'

const DEFINITIONS = `# A source says who may send, and what the events are called.
kind: Source
name: shop
# Signed with HMAC-SHA256 in the header x-shop-signature; put the secret into the environment as SHOP_SECRET.
verify: { scheme: hmac, secret: { env: SHOP_SECRET }, header: x-shop-signature }
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id, objectType: order, objectId: payload.order.number }
---
# A route says which events it wants, and what to do about each.
kind: Route
name: invoice_paid_order
on: shop.events.order.paid
where: payload.order.total > 0
# One effect per key, however often the shop sends the order.
key: "'INVOICE:' + payload.order.number"
do:
  http:
    method: POST
    # The node plays billing itself, by the source below. Put your own address here.
    url: "{{ vars.self }}/in/default/billing"
    body: { reference: "{{ key }}", total: "{{ payload.order.total }}" }
    keyTtl: 24h
---
kind: Source
name: billing
verify: { scheme: none }
subject: billing.events.invoice.requested
event: { id: payload.reference, objectType: invoice, objectId: payload.reference }
`

export function addInitCommand(program: Command, cli: Cli): void {
  const init = program
    .command('init')
    .argument('[folder]', 'the folder to create', 'flows')
    .description('create a folder with a first source and route')
  handle(init, cli, (session, _options, folder = 'flows') => writeFlows(session, folder), { isLocal: true })
}

async function writeFlows(session: Session, folder: string): Promise<void> {
  const file = join(folder, FILE)
  try {
    await mkdir(folder)
    await writeFile(file, DEFINITIONS, { flag: 'wx' })
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, folder)
  }
  session.show({ folder, files: [file] }, () => {
    const { out } = session
    out.line(`wrote ${file}`)
    out.line()
    out.line('Next:')
    const isUsual = folder === 'flows'
    const named = isUsual ? '' : `MILLRACE_FLOWS=${folder} `
    out.line(`  npx millrace check${isUsual ? '' : ` ${folder}`}`)
    out.line(`  SHOP_SECRET=shop-secret ${named}npx millrace start`)
    out.line(
      '  SHOP_SECRET=shop-secret npx millrace send shop --data order.json    in another terminal, with',
    )
    out.line(`    {"id":"e-1","type":"order.paid","order":{"number":"1001","total":42}}`)
  })
}

function explain(error: NodeJS.ErrnoException, folder: string): CliError {
  if (error.code === 'EEXIST')
    return new CliError(`${folder} exists already; nothing was written`, {
      next: 'Name another folder: millrace init <folder>.',
    })
  return new CliError(`${folder} cannot be written: ${error.code ?? error.message}`, {
    next: 'Make the folder above it, or name another: millrace init <folder>.',
  })
}
