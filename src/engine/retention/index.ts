// Deletes events and records when their retention time is over.

export { keepTimesOf, ledgerKeepTimesOf, makeRetention } from './retention.ts'
