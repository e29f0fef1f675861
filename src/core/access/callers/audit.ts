// Which log messages form the audit trail: access, keys, secrets, and user actions on jobs and definitions.
//
// Invariant: a log writes these messages at every level. User actions on jobs and dead letters are on control lines, which are
// always written as well. A message that a user causes, or that says who may read what, belongs in this table.

export const AUDIT_MESSAGES = {
  access: [
    'access.signed-in',
    'access.signed-out',
    'access.sign-in-refused',
    'access.sign-in-limited',
    'access.link-created',
    'access.key-refused',
    'access.tenant-created',
  ],
  keys: ['access.key-created', 'access.key-revoked'],
  secrets: [
    'access.secret-set',
    'access.secret-promoted',
    'access.secret-removed',
    'credential.authorized',
    'credential.revoked',
    'credential.rotating',
    'credential.rotation-abandoned',
    'credential.rotation-resumed',
    'seal.rewrapped',
    'seal.unreadable',
    'subscription.rotation-ended',
    'subscription.secret-generated',
    'subscription.secret-revealed',
    'subscription.secret-rotated',
    'vault.env-refused',
    'vault.file-refused',
    'vault.logged-in',
    'vault.rewrapped',
    'vault.unreadable',
  ],
  reads: ['event.sensitive-read', 'instance.sensitive-read'],
  operators: [
    'circuit.closed',
    'circuit.overridden',
    'code.signed-by-operator',
    'connection.tested',
    'definitions.applied',
    'definitions.controlled',
    'escalation.acknowledged',
    'instance.cancelled',
    'instance.edited',
    'instance.fired',
    'instance.migrated',
    'instance.moved',
    'instance.retried',
    'node.copy-confirmed',
    'orphan.correlated',
    'orphan.discarded',
    'replay.begun',
    'replay.cancelled',
    'replay.done',
    'store.loss-accepted',
    'subscription.controlled',
    'subscription.created',
    'subscription.patched',
    'subscription.removed',
    'subscription.tested',
  ],
} as const

const NAMES: ReadonlySet<string> = new Set(Object.values(AUDIT_MESSAGES).flat())

export function isAuditMessage(name: string): boolean {
  return NAMES.has(name)
}
