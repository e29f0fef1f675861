// What a ready mapping says: how a vendor's webhooks become subjects and names. It is written in the language that users
// write, so that a document holds it as data and anybody can write the next one.
// Rule: whatever a vendor's payload holds, the subject is valid; parts that come from it go through `token`, and what is
// missing is `unknown`. A webhook that was verified is not lost because of a word in it.

export interface Mapping {
  /** For people. */
  readonly title: string
  /** A template. */
  readonly subject: string
  readonly event: {
    /** An expression: what the vendor repeats when it sends again. */
    readonly id: string
    /** A template. */
    readonly objectType: string
    readonly objectId: string
    readonly occurredAt: string | null
  }
}
