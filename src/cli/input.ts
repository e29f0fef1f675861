// User input: files, stdin, a hidden value, a confirmation.

import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { type JsonValue, parseJson } from '../core/foundation/json/index.ts'
import type { Session } from './command.ts'
import { CliError, usageError } from './failure.ts'

const STDIN_BYTES_MAX = 16_777_216

/** `-` is stdin. */
export async function readInput(session: Session, from: string): Promise<Buffer<ArrayBuffer>> {
  if (from !== '-') {
    try {
      return Buffer.from(await readFile(from))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw usageError(`${from} cannot be read (${code ?? 'unknown'})`, 'Name a file, or - for stdin.')
    }
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of session.stdin) {
    const bytes = Buffer.from(chunk as Uint8Array)
    size += bytes.length
    if (size > STDIN_BYTES_MAX) throw new CliError(`stdin has more than ${STDIN_BYTES_MAX} bytes`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

export async function readJsonInput(session: Session, from: string): Promise<JsonValue> {
  const text = (await readInput(session, from)).toString('utf8')
  try {
    return parseJson(text.replace(/^\ufeff/, ''))
  } catch (error) {
    const where = from === '-' ? 'stdin' : from
    throw usageError(`${where} is not JSON: ${(error as Error).message}`)
  }
}

/** From a pipe as it is, without its last line break; on a terminal prompted for, and hidden while it is typed. */
export async function readSecret(session: Session, question: string): Promise<string> {
  if (session.stdin.isTTY !== true) {
    return (await readInput(session, '-')).toString('utf8').replace(/\r?\n$/, '')
  }
  process.stderr.write(question)
  const readline = createInterface({ input: session.stdin, terminal: true })
  try {
    return await new Promise<string>((resolve, reject) => {
      readline.once('SIGINT', () => reject(new DOMException('interrupted', 'AbortError')))
      readline.once('line', resolve)
      readline.once('close', () => resolve(''))
    })
  } finally {
    readline.close()
    process.stderr.write('\n')
  }
}

/** On a terminal prompted for; elsewhere no one can answer, so an option must give it. */
export async function confirm(session: Session, question: string, isSaid: boolean): Promise<void> {
  if (isSaid) return
  if (session.stdin.isTTY !== true || !session.out.isTty || session.isJson) {
    throw usageError('this command needs a confirmation, and there is no terminal', 'Add --yes to confirm.')
  }
  const answer = await askLine(session, `${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer)) throw new CliError('nothing was changed')
}

async function askLine(session: Session, question: string): Promise<string> {
  const readline = createInterface({ input: session.stdin, output: process.stderr, terminal: true })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      readline.once('SIGINT', () => reject(new DOMException('interrupted', 'AbortError')))
      readline.question(question, resolve)
    })
    return answer.trim()
  } finally {
    readline.close()
  }
}

/**
 * If the node requires a reason and none was given, the user is asked; without a terminal the error names the option.
 */
export async function postWithReason<Answer>(
  session: Session,
  path: string,
  body: Readonly<Record<string, unknown>>,
  option: '--reason',
): Promise<Answer> {
  try {
    return await session.api.post<Answer>(path, body)
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'reason_required') throw error
    const canAsk = session.stdin.isTTY === true && session.out.isTty && !session.isJson
    if (!canAsk) {
      const next = `Give a reason with ${option} "…"; it is recorded.`
      throw new CliError(error.message, { ending: error.ending, code: error.code, next })
    }
    const reason = await askLine(session, 'Reason (recorded): ')
    if (reason === '') throw new CliError('nothing was changed')
    return session.api.post<Answer>(path, { ...body, reason })
  }
}
