// millrace verify: whether a saved webhook is from the holder of the secret, and if not, why not. It calls no server.
//
// A signature only says that something differs. The usual causes (a line break that an editor added, JSON that was
// rewritten, a secret without its prefix) are tried here, and the one that fits is named.

import type { Command } from 'commander'
import { parseDuration } from '../../core/expression/index.ts'
import { parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { type VerifyOptions, verify, WebhookVerificationError } from '../../sdk/client/index.ts'
import { type Cli, collect, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { readInput } from '../input.ts'

interface Options {
  readonly secretFile: readonly string[]
  readonly headers: string
  readonly body: string
  readonly tolerance?: string
  readonly anyTime?: boolean
}

interface Verdict {
  readonly ok: boolean
  readonly code: string | null
  readonly message: string
  /** The cause, if it could be found. */
  readonly cause: string | null
}

type Headers = Readonly<Record<string, string>>

interface Saved {
  readonly body: Uint8Array
  readonly headers: Headers
  readonly secrets: readonly string[]
}

export function addVerifyCommand(program: Command, cli: Cli): void {
  const command = program
    .command('verify')
    .description('check the signature of a saved webhook, and show why it does not match; makes no call')
    .requiredOption('--secret-file <file>', 'the secret, or the public key; may be repeated', collect)
    .requiredOption('--headers <file>', 'its headers: ‘name: value’ lines, or a JSON object')
    .requiredOption('--body <file>', 'its body as received; - reads stdin')
    .option('--tolerance <duration>', 'its maximum age (5m)')
    .option('--any-time', 'ignore its age')
  handle<Options>(command, cli, run, { isLocal: true })
}

async function run(session: Session, options: Options): Promise<number> {
  const saved: Saved = {
    body: await readInput(session, options.body),
    headers: parseHeaders((await readInput(session, options.headers)).toString('utf8')),
    secrets: await Promise.all(options.secretFile.map((file) => readSecretFile(session, file))),
  }
  const verdict = judge(saved, readTolerance(options))
  session.show(verdict, () => {
    const { out } = session
    out.line(verdict.ok ? verdict.message : `It does not verify: ${verdict.message}.`)
    if (verdict.cause !== null) out.line(`${verdict.cause}.`)
  })
  return verdict.ok ? EXIT.ok.code : EXIT.failed.code
}

/** The file's final line break is not part of the secret. */
async function readSecretFile(session: Session, file: string): Promise<string> {
  return (await readInput(session, file)).toString('utf8').replace(/\r?\n$/, '')
}

function readTolerance({ tolerance, anyTime }: Options): VerifyOptions {
  if (anyTime === true) return ANY_TIME
  if (tolerance === undefined) return {}
  const ms = parseDuration(tolerance)
  if (ms === null || ms < 0) throw usageError(`‘${tolerance}’ is not a duration`, 'Write 5m or 1h.')
  return { toleranceSeconds: ms / 1_000 }
}

const ANY_TIME: VerifyOptions = { toleranceSeconds: Number.MAX_SAFE_INTEGER }

function parseHeaders(text: string): Headers {
  const trimmed = text.replace(/^\ufeff/, '').trim()
  if (trimmed.startsWith('{')) {
    try {
      const value = parseJson(trimmed) as Readonly<Record<string, unknown>>
      const lists = Object.entries(value).map(([name, one]) => [name.toLowerCase(), [one].flat().join(' ')])
      return Object.fromEntries(lists)
    } catch (error) {
      throw usageError(`the headers are not JSON: ${(error as Error).message}`)
    }
  }
  const headers: Record<string, string> = {}
  for (const line of trimmed.split(/\r?\n/)) {
    // A status or request line, as tools save it, is not a header.
    const match = /^\s*(?:[<>*]\s*)?([!#$%&'*+.^_`|~\w-]+):\s*(.*?)\s*$/.exec(line)
    if (match !== null) headers[String(match[1]).toLowerCase()] = String(match[2])
  }
  if (Object.keys(headers).length === 0)
    throw usageError('there are no headers in that file', 'Write one ‘name: value’ a line.')
  return headers
}

function judge(saved: Saved, options: VerifyOptions): Verdict {
  const error = refusalOf(saved, options)
  if (error === null) return { ok: true, code: null, message: 'The signature is right.', cause: null }
  const { code, message } = error
  if (code === 'not_json') {
    return { ok: true, code, message: 'The signature is right; the body is not JSON.', cause: null }
  }
  const cause = CAUSES.find(({ of, changed }) => of.includes(code) && changed(saved).some(isRight))
  const isOld = code === 'too_old' || code === 'too_new'
  return {
    ok: false,
    code,
    message: isOld ? `the signature is right, but ${message}` : message,
    cause: cause === undefined ? guess(code, saved) : `Cause: ${cause.name}`,
  }
}

/** None of the attempts matched; the remaining possibilities. */
function guess(code: string, { headers }: Saved): string | null {
  if (code === 'missing_header' && 'webhook-signature' in headers)
    return 'It is signed by Standard Webhooks: their secrets begin with ‘whsec_’, public keys with ‘whpk_’, and this one does not'
  return code === 'no_match' ? UNKNOWN : null
}

const UNKNOWN =
  'None of the usual changes of a body explains it: probably it is the secret of another subscription, or one that was rotated away'

function refusalOf(
  { body, headers, secrets }: Saved,
  options: VerifyOptions,
): WebhookVerificationError | null {
  try {
    verify(body, headers, secrets, options)
    return null
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error
    throw error
  }
}

function isRight(saved: Saved): boolean {
  const error = refusalOf(saved, ANY_TIME)
  return error === null || error.code === 'not_json'
}

interface Cause {
  readonly of: readonly string[]
  readonly name: string
  /** The request as it may have been sent. */
  changed(saved: Saved): readonly Saved[]
}

const withBody = (change: (text: string) => readonly string[]) => (saved: Saved) =>
  change(new TextDecoder('utf-8', { ignoreBOM: true }).decode(saved.body)).map((text) => ({
    ...saved,
    body: new TextEncoder().encode(text),
  }))
const withSecret = (change: (secret: string) => string) => (saved: Saved) => [
  { ...saved, secrets: saved.secrets.map(change) },
]

const CAUSES: readonly Cause[] = [
  {
    of: ['no_match'],
    name: 'the body ends with a line break that was not sent; editors and ‘echo’ add one',
    changed: withBody((text) => [text.replace(/\r?\n$/, ''), text.replace(/\s+$/, '')]),
  },
  {
    of: ['no_match'],
    name: 'the body lost its line break at the end',
    changed: withBody((text) => [`${text}\n`, `${text}\r\n`]),
  },
  {
    of: ['no_match'],
    name: 'line breaks or the byte order mark of the body were changed when it was saved',
    changed: withBody((text) => [
      text.replaceAll('\r\n', '\n'),
      text.replaceAll(/\r?\n/g, '\r\n'),
      text.replace(/^\ufeff/, ''),
    ]),
  },
  {
    of: ['no_match'],
    name: 'the body was parsed and written again; verify the bytes as they were received, before anything reads them',
    changed: withBody(writtenAgain),
  },
  {
    of: ['bad_secret', 'missing_header', 'no_match'],
    name: 'there are spaces or quotes around the secret',
    changed: withSecret((secret) => secret.trim().replaceAll(/^["']|["']$/g, '')),
  },
  {
    of: ['missing_header', 'no_match'],
    name: 'the secret lacks its prefix ‘whsec_’',
    changed: withSecret((secret) => (secret.startsWith('wh') ? secret : `whsec_${secret}`)),
  },
]

/** As programs usually write JSON: without spaces, and with them. */
function writtenAgain(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text)
    return [stringifyJson(parseJson(text)), JSON.stringify(value), JSON.stringify(value, null, 2)]
  } catch {
    return []
  }
}
