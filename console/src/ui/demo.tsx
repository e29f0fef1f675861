// The button that fills the console: a bounded stream of signed samples, while the demo's definitions are deployed.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Send, Square } from 'lucide-react'
import { api } from '../api.ts'
import { useDemo, useMe } from '../queries.ts'
import { Button } from './controls.tsx'
import { Progress } from './surfaces.tsx'
import { toastDone, toastProblem } from './toast.tsx'

export function DemoButton() {
  const client = useQueryClient()
  const { data: demo } = useDemo()
  const { data: me } = useMe()
  const refresh = () => client.invalidateQueries({ queryKey: ['demo'] })
  const start = useMutation({
    mutationFn: () => api.sendDemo(),
    onSuccess: ({ sending }) => toastDone(`${sending} demo events are on their way`),
    onError: (error) => toastProblem(error, 'The demo could not start'),
    onSettled: refresh,
  })
  const stop = useMutation({ mutationFn: () => api.stopDemo(), onSettled: refresh })
  if (demo?.available !== true || me?.role === 'viewer') return null
  if (!demo.isSending) {
    return (
      <Button
        variant="primary"
        icon={<Send size={14} aria-hidden />}
        isBusy={start.isPending}
        onClick={() => start.mutate()}
      >
        Send demo events
      </Button>
    )
  }
  return (
    <div className="demo">
      <div className="demo__text num">
        Sending {demo.sent} of {demo.total}
        <Progress value={demo.sent} total={demo.total} label="Demo events sent" />
      </div>
      <Button isSmall icon={<Square size={12} aria-hidden />} onClick={() => stop.mutate()}>
        Stop
      </Button>
    </div>
  )
}
