/** The mark of svc: a bus with three peels. */
export function Mark() {
  return (
    <svg
      class="mark"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      aria-hidden="true"
    >
      <path d="M3 12h18M7 12V6m10 6V6m-5 6v6" stroke-linecap="round" />
      <circle cx="7" cy="4.5" r="2" />
      <circle cx="17" cy="4.5" r="2" />
      <circle cx="12" cy="19.5" r="2" />
    </svg>
  );
}
