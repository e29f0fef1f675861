// Converts a message from an operation's JSON to what a mail server accepts. Only the fields named here reach the
// composer: it can read files and fetch URLs, and must never do so for a payload.

import { createHash } from 'node:crypto'

export interface Message {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly messageId: string
  readonly bytes: Buffer
}

type Fields = Readonly<Record<string, unknown>>

const TEXTS = ['from', 'replyTo', 'subject', 'text', 'html', 'inReplyTo'] as const
const LISTS = ['to', 'cc', 'bcc'] as const
/** A mail server accepts 10 to 50 MiB; the input was bounded before. */
const ATTACHMENTS_MAX = 20

/** The text says what is wrong, and contains nothing of the message. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
}

/** `key`: the same key gives the same message id, so that servers that deduplicate find duplicates. */
export async function readMessage(body: string | null, key: string | null): Promise<Message> {
  const fields = parse(body)
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const mail: Record<string, unknown> = { disableFileAccess: true, disableUrlAccess: true }
  for (const name of TEXTS) if (fields[name] != null) mail[name] = textOf(fields[name], name)
  for (const name of LISTS) if (fields[name] != null) mail[name] = listOf(fields[name], name)
  if (mail.from === undefined) throw new MessageError('the message has no sender: say `from`')
  if (fields.headers != null) mail.headers = headersOf(fields.headers)
  if (fields.attachments != null) mail.attachments = attachmentsOf(fields.attachments)
  const compiled = new MailComposer(mail).compile()
  const { from, to } = compiled.getEnvelope()
  if (typeof from !== 'string' || from === '') throw new MessageError('`from` is no mail address')
  if (to.length === 0) throw new MessageError('the message has no recipient: say `to`, `cc` or `bcc`')
  const messageId = key === null ? compiled.messageId() : `<${idOf(key)}@${from.split('@').pop()}>`
  compiled.setHeader('message-id', messageId)
  return { envelope: { from, to }, messageId, bytes: await compiled.build() }
}

function idOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40)
}

function parse(body: string | null): Fields {
  try {
    const value: unknown = JSON.parse(body ?? '')
    if (isFields(value)) return value
  } catch {
    // It is not JSON, which is reported below.
  }
  throw new MessageError('the message is no JSON object')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  throw new MessageError(`\`${name}\` is no text`)
}

function listOf(value: unknown, name: string): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value as string[]
  throw new MessageError(`\`${name}\` is neither an address nor a list of them`)
}

function headersOf(value: unknown): Readonly<Record<string, string>> {
  if (!isFields(value)) throw new MessageError('`headers` is no map')
  const headers: Record<string, string> = {}
  for (const [name, text] of Object.entries(value)) {
    // The others name sender and recipients, which are set above.
    if (!/^x-[\w-]+$|^list-[\w-]+$|^auto-submitted$|^precedence$|^references$/i.test(name))
      throw new MessageError(`the header ${name} cannot be set: use a name that begins with x- or list-`)
    headers[name] = textOf(text, `headers.${name}`)
  }
  return headers
}

function attachmentsOf(value: unknown): readonly object[] {
  if (!Array.isArray(value) || value.length > ATTACHMENTS_MAX)
    throw new MessageError(`\`attachments\` is no list of up to ${ATTACHMENTS_MAX}`)
  return value.map((one: unknown) => {
    if (!isFields(one)) throw new MessageError('an attachment is a map of filename, content and contentType')
    return {
      filename: textOf(one.filename, 'attachments.filename'),
      content: Buffer.from(textOf(one.content, 'attachments.content'), 'base64'),
      ...(one.contentType != null && { contentType: textOf(one.contentType, 'attachments.contentType') }),
    }
  })
}
