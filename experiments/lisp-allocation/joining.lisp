;;; Joins N strings of 20 characters in one of three ways, and counts what that allocates.
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

(destructuring-bind (way n) (last sb-ext:*posix-argv* 2)
  (let* ((strings (strings (parse-integer n)))
         (join (cond ((string= way "reduce") #'by-reduce)
                     ((string= way "stream") #'by-stream)
                     ((string= way "fill") #'by-fill)
                     (t (sb-ext:exit :code 64 :abort t))))
         (before 0) (after 0) (best nil) (result nil))
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
