// The interface of a ready mapping: how a vendor's webhooks become subjects and names. It is written in the users' own
// language, so that a document contains it as data and any user can write the next one.
// Rule: whatever a vendor's payload contains, the subject is valid; parts from the payload go through `token`, and a missing
// part is `unknown`. A verified webhook is never lost because of a word in it.

export interface Mapping {
  /** Shown to users. */
  readonly title: string
  /** A template. */
  readonly subject: string
  readonly event: {
    /** An expression: what the vendor repeats when it redelivers. */
    readonly id: string
    /** A template. */
    readonly objectType: string
    readonly objectId: string
    readonly occurredAt: string | null
  }
}
