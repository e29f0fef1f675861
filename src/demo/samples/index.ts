export {
  hasLongTitle,
  issueNumber,
  makeGithubSample,
  makeStreamSample,
  SAMPLE_NAMES,
  type Sample,
} from './github.ts'
