// The questions before a bulk replay: why, and how fast.

import { useState } from 'react'
import { fieldError } from '../api.ts'
import { useMe } from '../queries.ts'
import { Field } from './controls.tsx'

export interface AskedPace {
  readonly reason?: string
  readonly perSecond?: number
}

interface Fields {
  readonly reason: string
  readonly onReason: (text: string) => void
  readonly reasonError: string | undefined
  readonly isReasonNeeded: boolean
  readonly isProd: boolean
  readonly rate: string
  readonly onRate: (text: string) => void
  readonly rateError: string | undefined
  readonly asked: AskedPace
  /** Whether it can start; if not, the fields show the errors. */
  readonly check: () => boolean
}

const RATE = /^\d+$/

export function useReplayFields(options: {
  readonly isReasonNeeded: boolean
  readonly error: unknown
}): Fields {
  const { data: me } = useMe()
  const [reason, setReason] = useState('')
  const [rate, setRate] = useState('')
  const [isAsked, setIsAsked] = useState(false)
  const isProd = me?.environment === 'PROD'
  const isReasonNeeded = isProd || options.isReasonNeeded
  const isMissing = isReasonNeeded && reason.trim() === ''
  const rateError =
    rate !== '' && (!RATE.test(rate) || Number(rate) < 1)
      ? 'A whole number, 1 or more.'
      : fieldError(options.error, 'perSecond')
  return {
    reason,
    onReason: setReason,
    reasonError: isAsked && isMissing ? 'A reason is required.' : undefined,
    isReasonNeeded,
    isProd,
    rate,
    onRate: (text) => setRate(text.trim()),
    rateError,
    asked: {
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      ...(rate !== '' && { perSecond: Number(rate) }),
    },
    check: () => {
      setIsAsked(true)
      return !isMissing && rateError === undefined
    },
  }
}

export function ReplayFields({ fields }: { readonly fields: Fields }) {
  return (
    <div className="replay__fields">
      <Field
        label={fields.isReasonNeeded ? 'Reason' : 'Reason (optional)'}
        hint={
          fields.isProd
            ? 'Required in PROD. Recorded with your name.'
            : 'Recorded with the replay, with your name.'
        }
        error={fields.reasonError}
      >
        {(field) => (
          <input
            {...field}
            className="input"
            value={fields.reason}
            onChange={(event) => fields.onReason(event.target.value)}
          />
        )}
      </Field>
      <Field label="Rate" hint="Per second. Empty: as fast as rate limits allow." error={fields.rateError}>
        {(field) => (
          <input
            {...field}
            className="input num"
            inputMode="numeric"
            placeholder="No limit"
            value={fields.rate}
            onChange={(event) => fields.onRate(event.target.value)}
          />
        )}
      </Field>
    </div>
  )
}
