;;; Joins N strings of 20 characters in one of three ways, and counts what that allocates; or shows
;;; which functions allocate, by the runtime's profiler: count|profile WAY N.
(defun nanoseconds ()
  (multiple-value-bind (seconds microseconds) (sb-ext:get-time-of-day)
    (* (+ (* seconds 1000000) microseconds) 1000)))

(defun strings (n)
  (loop for i below n collect (format nil "element-number-~5,'0d" i)))

(defun by-reduce (strings)
  (reduce (lambda (before string) (concatenate 'string before string)) strings
          :initial-value ""))

(defun by-stream (strings)
  (with-output-to-string (out)
    (dolist (string strings) (write-string string out))))

(defun by-fill (strings)
  (let ((result (make-string (reduce #'+ strings :key #'length)))
        (at 0))
    (declare (type fixnum at))
    (dolist (string strings result)
      (replace result string :start1 at)
      (incf at (length string)))))

;; The profiler is there only if it is asked for: its names are looked up when it has been loaded.
(defun show-allocations (join strings)
  (require :sb-sprof)
  (flet ((sprof (name &rest arguments)
           (apply (intern name :sb-sprof) arguments)))
    (sprof "START-PROFILING" :mode :alloc :max-samples 100000 :threads :all)
    ;; A sample is a region of 32 kB: as many calls as allocate two thousand of them.
    (loop with before = (sb-ext:get-bytes-consed)
          do (funcall join strings)
          until (> (- (sb-ext:get-bytes-consed) before) 64000000))
    (sprof "STOP-PROFILING")
    (sprof "REPORT" :type :graph :stream *standard-output*)))

(destructuring-bind (what way n) (last sb-ext:*posix-argv* 3)
  (let* ((strings (strings (parse-integer n)))
         (join (cond ((string= way "reduce") #'by-reduce)
                     ((string= way "stream") #'by-stream)
                     ((string= way "fill") #'by-fill)
                     (t (sb-ext:exit :code 64 :abort t))))
         (before 0) (after 0) (best nil) (result nil))
    (when (string= what "profile")
      (show-allocations join strings)
      (sb-ext:exit :code 0))
    ;; The first call compiles nothing and loads nothing, but caches are cold.
    (funcall join strings)
    (sb-ext:gc :full t)
    (setf before (sb-ext:get-bytes-consed)
          result (funcall join strings)
          after (sb-ext:get-bytes-consed))
    (dotimes (again 5)
      (let ((begin (nanoseconds)))
        (funcall join strings)
        (let ((took (- (nanoseconds) begin)))
          (setf best (if best (min best took) took)))))
    (format t "consed-bytes ~d~%" (- after before))
    (format t "nanoseconds ~d~%"
            (max 1 best))
    (format t "~d characters, sum ~d~%" (length result) (reduce #'+ result :key #'char-code))))
