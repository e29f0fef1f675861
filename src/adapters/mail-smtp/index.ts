export { type MailClientOptions, makeMailClient } from './mail-smtp.ts'
