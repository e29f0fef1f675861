// A process that opens a store and writes until it is killed. Prints `open`, then one line per acknowledged event.

import { makeIds, type TenantId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { openSqliteStore } from './index.ts'

const [file = '', mode = 'write'] = process.argv.slice(2)
let count = 0
const ids = makeIds({
  now: Date.now,
  bytes: (length) => Uint8Array.from({ length }, () => (count++ * 151) & 0xff),
})
const tenant = 'acme' as TenantId

const store = await openSqliteStore({ file })
process.stdout.write('open\n')

async function writeForever(): Promise<void> {
  for (;;) {
    const id = ids.event()
    const correlationId = ids.uuid()
    const result = await store.commit({
      tenant,
      guards: [{ g: 'dedup', source: 'shop', key: id }],
      writes: [
        {
          w: 'event.append',
          dedupForMs: DAY,
          event: {
            id,
            tenant,
            source: 'shop',
            subject: 'order.created',
            objectType: null,
            objectId: null,
            occurredAt: null,
            correlationId,
            causationId: null,
            traceId: correlationId,
            dedupKey: id,
            payloadHash: 'a'.repeat(64),
            headers: '{}',
            data: JSON.stringify({ text: 'x'.repeat(1_000) }),
            raw: null,
            sensitive: [],
            matched: 0,
          },
        },
      ],
    })
    if (!result.ok) throw new Error('a new event was refused')
    process.stdout.write(`${id}\n`)
  }
}

if (mode === 'write') await Promise.all(Array.from({ length: 32 }, writeForever))
